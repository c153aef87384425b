//! A real control plane for tests: etcd, an API server and, where asked for, Kubernetes' scheduler.
//!
//! [`with_shared`] gives a test its own namespace and nodes in the control plane all tests of a
//! binary share; [`with_own`] starts one for a test that breaks it, as soon as few enough of them are
//! running. Both skip the test with a loud line where the programs are missing and cannot be built,
//! or fail it if `MUSTER_REQUIRE_CLUSTER=1`. See `docs/operating/test-rig.md`.

mod tool;
mod go;
mod keeper;
mod access;
mod etcd;
mod start;
mod crds;
mod plane;
mod space;

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::LazyLock;
use std::thread::available_parallelism;

use futures::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OnceCell, Semaphore};

pub use access::User;
pub use go::{GoBuild, cache};
pub use keeper::Server;
pub use plane::{ControlPlane, Options, PodGroupDefinition};
pub use space::{Space, TEST_LABEL, api_of};
pub use start::free_port;
pub use tool::{Tool, ToolError};

/// Makes missing programs a failure.
const REQUIRED: &str = "MUSTER_REQUIRE_CLUSTER";

/// The control plane of this test binary. It is never dropped; its keeper ends it with the process.
static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();

/// Permits for control planes that belong to one test. Some tests have deadlines of seconds, which
/// they would miss if every thread of the harness had an API server, its store and a scheduler busy
/// at the same time.
static OWN_PERMITS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, NonZero::get);
    Semaphore::new((cores / 2).clamp(2, 8))
});

/// Runs a test in a namespace of that name, on the control plane this test binary shares.
pub fn with_shared(name: &str, test: impl AsyncFnOnce(&Space<'_>)) {
    runtime().block_on(async {
        let shared = SHARED.get_or_try_init(|| ControlPlane::start(Options::default())).await;
        let Some(plane) = present(name, shared) else { return };
        let space = Space::create(plane, name).await;
        let outcome = AssertUnwindSafe(test(&space)).catch_unwind().await;
        let cleared = space.clear().await;
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
        cleared.unwrap_or_else(|error| panic!("what {name} left cannot be taken away: {error}"));
    });
}

/// Runs a test on a control plane of its own, which it may break.
pub fn with_own(name: &str, options: Options, test: impl AsyncFnOnce(&Space<'_>)) {
    runtime().block_on(async {
        let _permit = OWN_PERMITS.acquire().await.expect("it is never closed");
        if let Some(plane) = present(name, ControlPlane::start(options).await) {
            test(&Space::create(&plane, name).await).await;
        }
    });
}

/// What a test needs, or none if the test is to be skipped.
pub fn present<T>(test: &str, found: Result<T, ToolError>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) if std::env::var_os(REQUIRED).is_some_and(|value| value == "1") => {
            panic!("{error}")
        }
        Err(error) => {
            tool::say(&format!("SKIPPED {test}: {error} ({REQUIRED}=1 makes this a failure)"));
            None
        }
    }
}

/// Each test has a runtime of its own, which ends what the test left running.
fn runtime() -> Runtime {
    let built = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.expect("threads can be started")
}
