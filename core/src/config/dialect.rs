//! Whose configuration it is: files of two schedulers are read as they are.

/// A scheduler whose files are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Volcano.
    #[default]
    Volcano,
    /// NVIDIA's KAI.
    Kai,
}

impl Dialect {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Volcano => "Volcano",
            Self::Kai => "KAI",
        }
    }
}
