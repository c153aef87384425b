//! `resourcequota`: admits a job only if the quotas of its namespace have room for its minimum.
//!
//! Promise: for every `ResourceQuota` of the namespace and every name it limits, what is used, what was
//! admitted in this cycle and the job's `minResources` together stay within `hard`. Names compare as
//! they are written: `requests.cpu` in a quota looks at `requests.cpu` in `minResources`. A name the
//! job does not ask for is not looked at. Scopes are not looked at either; a quota that has some is a
//! warning.
//!
//! No arguments.

use crate::delta::QuotaFacts;
use crate::ids::Name;
use crate::policy::{
    AdmissionContext, Admittance, Build, JobEnqueueablePlugin, Plugin, PluginSpec, Setup, Words,
    plugin,
};
use crate::resource::{Format, Quantity, ResourceList};
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, Quotas, amount};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words { admits: Some("the quotas of its namespace have room"), ..Words::NONE },
    ..PluginSpec::of::<ResourceQuota>(
        "resourcequota",
        "admits a job only if the quotas of its namespace have room for its minimum",
    )
};

/// The plugin.
pub(in crate::policy) struct ResourceQuota;

plugin!(ResourceQuota);

impl Plugin for ResourceQuota {}

impl Build for ResourceQuota {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl JobEnqueueablePlugin for ResourceQuota {
    fn job_enqueueable(
        &self,
        _cluster: &Cluster<'_, '_>,
        context: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        let namespace = &job.identity.key.object().namespace;
        judge(context.quotas, namespace, &job.spec.min_quota)
    }
}

fn judge(quotas: &Quotas, namespace: &Name, asked: &ResourceList) -> Admittance {
    if asked.is_empty() {
        return Admittance::Abstain;
    }
    let empty = ResourceList::new();
    let admitted = quotas.admitted.get(namespace).unwrap_or(&empty);
    for quota in quotas.of.inside(namespace) {
        if let Some(message) = excess(quota, admitted, asked) {
            return Admittance::Reject(Verdict::new(Reason::NotAdmitted, message));
        }
    }
    Admittance::Permit
}

/// The first name of which the job would take more than the quota has.
fn excess(
    QuotaFacts { key, hard, used }: &QuotaFacts,
    admitted: &ResourceList,
    asked: &ResourceList,
) -> Option<String> {
    let nothing = Quantity::from_units(0);
    hard.iter().find_map(|(name, hard)| {
        let asked = amount(asked, name)?;
        let used = amount(used, name).unwrap_or(nothing);
        let admitted = amount(admitted, name).unwrap_or(nothing);
        if used.add(admitted).add(asked) <= *hard {
            return None;
        }
        let show = |quantity: Quantity| quantity.format(Format::of(name));
        Some(format!(
            "ResourceQuota {:?} allows {name} {}: {} used, {} admitted in this cycle, {} asked",
            key.name,
            show(*hard),
            show(used),
            show(admitted),
            show(asked)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectKey;

    fn list(entries: &[(&str, &str)]) -> ResourceList {
        entries.iter().map(|&(name, text)| (name.into(), text.parse().unwrap())).collect()
    }

    fn quotas(hard: &[(&str, &str)], used: &[(&str, &str)]) -> Quotas {
        let mut quotas = Quotas::default();
        let key = ObjectKey::new("team", "q");
        let quota = QuotaFacts { key, hard: list(hard), used: list(used) };
        quotas.of.set(quota);
        quotas
    }

    fn verdict(ballot: Admittance) -> Result<(), String> {
        match ballot {
            Admittance::Reject(verdict) => Err(verdict.message),
            Admittance::Permit | Admittance::Abstain => Ok(()),
        }
    }

    #[test]
    fn only_names_both_sides_have_are_compared() {
        let quotas =
            quotas(&[("limits.memory", "1Gi"), ("requests.cpu", "4")], &[("requests.cpu", "3")]);
        let ask = |asked: &[(&str, &str)]| verdict(judge(&quotas, &"team".into(), &list(asked)));
        assert_eq!(ask(&[("requests.cpu", "1")]), Ok(()));
        assert_eq!(ask(&[("cpu", "100")]), Ok(()));
        assert_eq!(
            ask(&[("requests.cpu", "1500m")]),
            Err("ResourceQuota \"q\" allows requests.cpu 4: 3 used, 0 admitted in this cycle, 1500m asked"
                .into())
        );
        assert!(ask(&[("limits.memory", "2Gi")]).is_err());
        let elsewhere = judge(&quotas, &"other".into(), &list(&[("requests.cpu", "9")]));
        assert_eq!(elsewhere, Admittance::Permit);
        assert_eq!(judge(&quotas, &"team".into(), &list(&[])), Admittance::Abstain);
    }

    #[test]
    fn what_was_admitted_in_this_cycle_counts() {
        let mut quotas = quotas(&[("count/pods", "5")], &[]);
        quotas.admit(&"team".into(), &list(&[("count/pods", "3")]));
        let ask = |pods| judge(&quotas, &"team".into(), &list(&[("count/pods", pods)]));
        assert_eq!(verdict(ask("2")), Ok(()));
        assert!(verdict(ask("3")).is_err());
    }
}
