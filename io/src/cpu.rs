//! The start-up check: has this CPU what the binary was compiled for?
//!
//! Without it an older CPU would end the process with an illegal instruction and no word of why. The
//! standard library's own detection cannot help: it answers "yes" to every feature that was switched
//! on at compile time.

/// Why this binary cannot run here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this build of muster is for CPUs with x86-64-v3 (AVX2), and this CPU lacks {}.\n\
     Build one that runs here with:\n\n    \
     RUSTFLAGS=\"-C target-cpu=x86-64\" cargo build --release",
    missing.join(", ")
)]
pub struct OldCpu {
    missing: Vec<&'static str>,
}

/// Checks the CPU before anything else runs.
pub fn check() -> Result<(), OldCpu> {
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    {
        let missing = x86::missing(&raw_cpuid::CpuId::new());
        if !missing.is_empty() {
            return Err(OldCpu { missing });
        }
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use raw_cpuid::{CpuId, CpuIdReader};

    /// What x86-64-v3 adds that this CPU, or its operating system, does not offer.
    #[cfg_attr(not(any(test, target_feature = "avx2")), expect(dead_code))]
    pub(super) fn missing<R: CpuIdReader>(cpu: &CpuId<R>) -> Vec<&'static str> {
        let base = cpu.get_feature_info();
        let base = |has: fn(&raw_cpuid::FeatureInfo) -> bool| base.as_ref().is_some_and(has);
        let more = cpu.get_extended_feature_info();
        let more = |has: fn(&raw_cpuid::ExtendedFeatures) -> bool| more.as_ref().is_some_and(has);
        let extended = cpu.get_extended_processor_and_feature_identifiers();
        let lzcnt = extended.is_some_and(|extended| extended.has_lzcnt());
        let features = [
            ("AVX", base(|cpu| cpu.has_avx() && cpu.has_oxsave())),
            ("AVX2", more(raw_cpuid::ExtendedFeatures::has_avx2)),
            ("BMI1", more(raw_cpuid::ExtendedFeatures::has_bmi1)),
            ("BMI2", more(raw_cpuid::ExtendedFeatures::has_bmi2)),
            ("F16C", base(raw_cpuid::FeatureInfo::has_f16c)),
            ("FMA", base(raw_cpuid::FeatureInfo::has_fma)),
            ("LZCNT", lzcnt),
            ("MOVBE", base(raw_cpuid::FeatureInfo::has_movbe)),
        ];
        features.iter().filter(|feature| !feature.1).map(|feature| feature.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_that_runs_the_tests_passes() {
        assert_eq!(check(), Ok(()));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_cpu_that_reports_nothing_lacks_everything() {
        let silent = raw_cpuid::CpuId::with_cpuid_fn(|_, _| raw_cpuid::CpuIdResult {
            eax: 0,
            ebx: 0,
            ecx: 0,
            edx: 0,
        });
        let missing = x86::missing(&silent);
        assert!(missing.contains(&"AVX2") && missing.contains(&"FMA") && missing.contains(&"BMI1"));
        let text = OldCpu { missing }.to_string();
        assert!(text.contains("lacks AVX, AVX2") && text.contains("target-cpu=x86-64\""), "{text}");
    }
}
