//! `ResourceQuota` to [`QuotaFacts`].

use muster_core::delta::{ClusterDelta, ObjectRef, QuotaFacts};
use muster_core::ids::ObjectKey;

use super::about::About;
use super::{OwnerRule, Translate, TranslateError, unsupported};
use crate::objects::ResourceQuota;

impl Translate for ResourceQuota {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Quota(key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let hard = match &self.status.hard {
            Some(hard) => about.resources(hard, "status.hard")?,
            // The cluster has not looked at it yet: what it will say is what the object says.
            None => about.resources(&self.spec.hard, "spec.hard")?,
        };
        let used = about.resources(&self.status.used, "status.used")?;
        Ok(QuotaFacts { key: about.key(), hard, used }.into())
    }

    fn unsupported(&self) -> Vec<String> {
        unsupported::of_quota(self)
    }
}
