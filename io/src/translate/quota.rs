//! `ResourceQuota` to [`QuotaFacts`].

use muster_core::delta::QuotaFacts;

use super::TranslateError;
use super::about::About;
use crate::objects::{ObjectKind, ResourceQuota};

pub(super) fn facts(quota: &ResourceQuota) -> Result<QuotaFacts, TranslateError> {
    let about = About::new(ObjectKind::ResourceQuota, &quota.metadata)?;
    let hard = match &quota.status.hard {
        Some(hard) => about.resources(hard, "status.hard")?,
        // The cluster has not looked at it yet: what it will say is what the object says.
        None => about.resources(&quota.spec.hard, "spec.hard")?,
    };
    let used = about.resources(&quota.status.used, "status.used")?;
    Ok(QuotaFacts { key: about.key(), hard, used })
}
