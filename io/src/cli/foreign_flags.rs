//! Flags of other schedulers' processes, so that a Deployment need not be rewritten: parameters of KAI's
//! scheduler that set something, and flags of both that mean nothing here.
//!
//! They are made from tables, a row each, and not listed in the help: the pages about Volcano and KAI
//! have them.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

use crate::config::params::{PARAMS, PERIOD, Param, Params, Role, Takes, idle};

/// Flags of Volcano's scheduler that mean nothing here.
const OF_VOLCANO: &[Param] = &[
    idle("priority-class", Takes::Switch, "priority classes are always looked at"),
    idle("csi-storage", Takes::Switch, "storage is always looked at"),
    idle("node-worker-threads", Takes::Text, "--threads says how many threads there are"),
    idle("minimum-feasible-nodes", Takes::Text, "all nodes are always looked at"),
    idle("minimum-percentage-nodes-to-find", Takes::Text, "all nodes are always looked at"),
    idle("percentage-nodes-to-find", Takes::Text, "all nodes are always looked at"),
    idle("resync-period", Takes::Text, "a watch that broke lists again by itself"),
    idle("resource-sync-timeout", Takes::Text, "nothing is decided before all lists are read"),
    idle("logtostderr", Takes::Switch, "the log always goes to standard error"),
    idle("cache-dumper", Takes::Switch, "there is no cache beside what is decided on"),
];

/// Flags that `clap` has itself.
const RESERVED: [&str; 1] = ["version"];

/// What was given of them.
#[derive(Clone, Debug, Default)]
pub struct ForeignFlags {
    /// Parameters that set something.
    pub params: Params,
    /// Those that change nothing, and why.
    pub idle: Vec<(&'static str, &'static str)>,
}

/// Every such flag. Those that other flags of `muster run` are is not among them.
fn flags() -> impl Iterator<Item = &'static Param> {
    let own = |param: &&Param| {
        let is_ours = matches!(param.role, Role::Process(_)) || param.name == PERIOD;
        !is_ours && !RESERVED.contains(&param.name)
    };
    PARAMS.iter().filter(own).chain(OF_VOLCANO)
}

fn arg(param: &'static Param) -> Arg {
    let arg = Arg::new(param.name).long(param.name).hide(true).action(ArgAction::Set);
    let arg = match param.takes {
        Takes::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => arg.num_args(1).allow_hyphen_values(true),
    };
    // The one flag that has a letter in both.
    if param.name == "v" { arg.short('v') } else { arg }
}

impl clap::Args for ForeignFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ForeignFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for param in flags() {
            let Some(text) = matches.get_one::<String>(param.name) else { continue };
            self.params.give(param, text).map_err(|expected| {
                let problem = format!("--{} {text:?}: expected {expected}\n", param.name);
                Error::raw(clap::error::ErrorKind::ValueValidation, problem)
            })?;
            if let Role::Idle(why) = param.role {
                self.idle.push((param.name, why));
            }
        }
        Ok(())
    }
}

/// Flags with one dash in front, as Go's own package has them, with two: `-x=y` and `-x y`.
pub fn with_two_dashes(
    command: &Command,
    args: impl IntoIterator<Item = std::ffi::OsString>,
) -> Vec<std::ffi::OsString> {
    let run = command.find_subcommand("run");
    let is_long = |name: &str| {
        let mut flags = run.into_iter().flat_map(Command::get_arguments);
        name.len() > 1
            && flags.any(|arg| {
                let mut aliases = arg.get_all_aliases().unwrap_or_default().into_iter();
                arg.get_long() == Some(name) || aliases.any(|alias| alias == name)
            })
    };
    let mut args: Vec<_> = args.into_iter().collect();
    if args.get(1).is_none_or(|first| first != "run") {
        return args;
    }
    for arg in &mut args[2..] {
        let Some(flag) = arg.to_str().and_then(|text| text.strip_prefix('-')) else { continue };
        let name = flag.split('=').next().unwrap_or(flag);
        if !flag.starts_with('-') && is_long(name) {
            *arg = format!("--{flag}").into();
        }
    }
    args
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        foreign: ForeignFlags,
    }

    fn read(args: &[&str]) -> ForeignFlags {
        let args = ["muster"].iter().chain(args);
        Line::try_parse_from(args).unwrap_or_else(|error| panic!("{error}")).foreign
    }

    #[test]
    fn a_switch_needs_no_value_and_everything_else_has_one() {
        let given = read(&[
            "--restrict-node-scheduling",
            "--full-hierarchy-fairness=false",
            "--default-staleness-grace-period",
            "-1s",
            "--partition-label-value=",
            "--use-scheduling-signatures",
            "-v",
            "4",
            "--cache-dumper=true",
        ]);
        let mut expected = Params::default();
        for (name, text) in [
            ("restrict-node-scheduling", "true"),
            ("full-hierarchy-fairness", "false"),
            ("default-staleness-grace-period", "-1s"),
            ("partition-label-value", ""),
        ] {
            let param = crate::config::params::param(name).unwrap();
            expected.give(param, text).unwrap();
        }
        assert_eq!(given.params, expected);
        let idle: Vec<_> = given.idle.iter().map(|(name, _)| *name).collect();
        assert_eq!(idle, ["use-scheduling-signatures", "v", "cache-dumper"]);
    }

    #[test]
    fn a_value_that_is_none_is_said_with_what_was_expected() {
        let args = ["muster", "--default-staleness-grace-period=5"];
        let error = Line::try_parse_from(args).unwrap_err().to_string();
        assert!(error.contains("expected a length of time"), "{error}");
        let error = Line::try_parse_from(["muster", "--nodepool-label-key=a b"]).unwrap_err();
        assert!(error.to_string().contains("expected the key of a label"), "{error}");
    }

    #[test]
    fn one_dash_will_do_for_flags_of_run_alone() {
        use clap::CommandFactory;
        let command = crate::cli::Cli::command();
        let read = |line: &str| {
            let args = line.split(' ').map(Into::into);
            let texts = with_two_dashes(&command, args).into_iter();
            texts.map(|text| text.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            read("muster run -qps=50 -partition-label-value a -v 3 -v=3 --leader-elect -x"),
            "muster run --qps=50 --partition-label-value a -v 3 -v=3 --leader-elect -x"
        );
        assert_eq!(read("muster simulate -qps=50"), "muster simulate -qps=50");
    }
}
