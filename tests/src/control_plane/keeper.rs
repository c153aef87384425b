//! Servers that never outlive the tests.
//!
//! A small shell holds one end of a pipe. When the other end closes, because its owner was dropped
//! or because the test process ended in whatever way, it kills every server it was told of and
//! removes their folder. A static of the test process is never dropped, and a killed process drops
//! nothing: the shell covers both.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Reads `watch PID`, `forget PID` and `SIGNAL PID`; at the end of its input kills those it still
/// watches and removes the folder. It waits for the dying at most five seconds: where nobody
/// collects the dead, they seem to live on.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
pids=' '
while read -r verb pid; do
  case $verb in
    watch) pids="$pids$pid " ;;
    forget) pids="${pids%% $pid *} ${pids#* $pid }" ;;
    *) kill -"$verb" "$pid" ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
tries=0
for pid in $pids; do
  while kill -0 "$pid" 2>/dev/null && [ $tries -lt 50 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
done
rm -rf -- "$1"
"#;

/// Longest a server may take to stop, on a very busy machine.
const STOP_PATIENCE: Duration = Duration::from_mins(1);

/// The folder of a control plane, and the end of its servers.
#[derive(Debug)]
pub(super) struct Keeper {
    folder: PathBuf,
    shell: Mutex<Option<(Child, ChildStdin)>>,
}

impl Keeper {
    /// A keeper with a new, empty folder that others cannot read.
    pub(super) fn new() -> io::Result<Arc<Self>> {
        let folder = new_folder()?;
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An interrupt from the terminal is for the tests; the keeper has work to do then.
            .process_group(0)
            .spawn()?;
        let pipe = shell.stdin.take().expect("a piped standard input is there");
        Ok(Arc::new(Self { folder, shell: Mutex::new(Some((shell, pipe))) }))
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn tell(&self, verb: &str, pid: u32) -> io::Result<()> {
        let mut shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, pipe)) = shell.as_mut() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        writeln!(pipe, "{verb} {pid}")
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let shell = self.shell.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((mut shell, pipe)) = shell {
            drop(pipe);
            // It ends by itself; if it cannot be waited for there is nothing left to do.
            let _ = shell.wait();
        }
    }
}

fn new_folder() -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("muster-control-plane-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| folder),
        }
    }
}

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    name: String,
    child: Child,
    keeper: Arc<Keeper>,
    log: PathBuf,
}

impl Server {
    /// Starts a program that writes what it says to `<name>.log` in the keeper's folder.
    pub(super) fn start(
        keeper: &Arc<Keeper>,
        name: &str,
        mut command: Command,
    ) -> io::Result<Self> {
        let log = keeper.folder().join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .current_dir(keeper.folder())
            .process_group(0);
        let child = command.spawn()?;
        let server = Self { name: name.to_owned(), child, keeper: Arc::clone(keeper), log };
        server.keeper.tell("watch", server.id())?;
        Ok(server)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Did it end by itself?
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Stops it in its tracks; connections stay open and nothing answers. It has stopped when this
    /// returns: the keeper passes signals on in its own time, and a busy machine takes longer still to
    /// stop every thread.
    pub fn pause(&self) {
        self.signal("STOP");
        let begun = Instant::now();
        while !self.has_stopped() {
            assert!(begun.elapsed() < STOP_PATIENCE, "{} does not stop", self.name);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Do all of its threads stand still?
    fn has_stopped(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.id()));
        let threads = threads.expect("a server that is paused runs, on a system with /proc");
        // A thread that is gone between two looks does nothing any more.
        let told =
            threads.flatten().filter_map(|one| fs::read_to_string(one.path().join("stat")).ok());
        // The name before the state may contain anything.
        let mut states = told
            .map(|stat| stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with('T')));
        states.all(|stopped| stopped == Some(true))
    }

    /// Lets it go on after [`Self::pause`].
    pub fn resume(&self) {
        self.signal("CONT");
    }

    /// Asks it to end by itself.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    fn signal(&self, signal: &str) {
        self.keeper.tell(signal, self.id()).expect("the keeper works until it is dropped");
    }

    /// Everything it has said.
    pub fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines it has said, for messages.
    pub fn last_words(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Neither fails in a way that matters: it may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.keeper.tell("forget", self.id());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    const KILLED: i32 = 9;

    fn sleeper(keeper: &Arc<Keeper>, name: &str) -> Server {
        let mut command = Command::new("sleep");
        command.arg("600");
        Server::start(keeper, name, command).expect("sleep is there")
    }

    #[test]
    fn servers_and_folder_go_when_the_process_that_owns_them_is_gone() {
        let keeper = Keeper::new().unwrap();
        let folder = keeper.folder().to_owned();
        let mut servers = [sleeper(&keeper, "a"), sleeper(&keeper, "b"), sleeper(&keeper, "c")];
        servers[1].pause();
        assert!(servers.iter_mut().all(|server| !server.has_ended()));
        // The system closes the pipe of a process that ends.
        let (mut shell, pipe) = keeper.shell.lock().unwrap().take().unwrap();
        drop(pipe);
        for server in &mut servers {
            assert_eq!(server.child.wait().unwrap().signal(), Some(KILLED));
        }
        assert!(shell.wait().unwrap().success());
        assert!(!folder.exists());
    }

    #[test]
    fn a_paused_server_does_nothing_until_it_is_resumed() {
        let keeper = Keeper::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do echo on; done"]);
        let server = Server::start(&keeper, "busy", command).unwrap();
        let size = || fs::metadata(&server.log).unwrap().len();
        for _ in 0..20 {
            server.pause();
            let said = size();
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(size(), said, "it has stopped");
            server.resume();
            while size() == said {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn dropped_servers_are_gone_and_forgotten() {
        let keeper = Keeper::new().unwrap();
        let folder = keeper.folder().to_owned();
        let kept = sleeper(&keeper, "kept");
        drop(sleeper(&keeper, "dropped"));
        assert!(folder.join("dropped.log").exists());
        drop(kept);
        drop(keeper);
        assert!(!folder.exists());
    }

    #[test]
    fn a_server_that_ends_by_itself_is_noticed_and_its_words_are_kept() {
        let keeper = Keeper::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2"]);
        let mut server = Server::start(&keeper, "speaker", command).unwrap();
        server.child.wait().unwrap();
        assert!(server.has_ended());
        assert_eq!(server.last_words(), "out\nerr");
    }
}
