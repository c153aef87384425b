//! A column most rows have nothing in.
//!
//! A running pod holds no reservation, waits for no report and no volumes: a pointer
//! says so, and the rest is memory saved a million times.

use std::ops::{Deref, DerefMut};

use bevy_ecs::prelude::Component;

/// Something with a value that stands for nothing.
pub trait Empty: Send + Sync + 'static {
    /// That value.
    const NOTHING: &'static Self;

    /// Is it that value?
    fn is_nothing(&self) -> bool;
}

/// A value, or nothing at the price of a pointer. Writing to it makes room for a value; [`Cold::trim`]
/// gives the room back.
#[derive(Clone, Debug, Component)]
pub struct Cold<T: Empty>(Option<Box<T>>);

impl<T: Empty> Default for Cold<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Empty> Cold<T> {
    /// Gives the memory back if the value says nothing.
    pub fn trim(&mut self) {
        if self.0.as_ref().is_some_and(|value| value.is_nothing()) {
            self.0 = None;
        }
    }
}

impl<T: Empty> Deref for Cold<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::NOTHING)
    }
}

impl<T: Empty + Default> DerefMut for Cold<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Number(u8);

    impl Empty for Number {
        const NOTHING: &'static Self = &Self(0);

        fn is_nothing(&self) -> bool {
            self.0 == 0
        }
    }

    #[test]
    fn nothing_takes_no_memory_and_reads_as_such() {
        let mut rare = Cold::<Number>::default();
        assert_eq!(rare.deref().0, 0);
        rare.trim();
        assert!(rare.0.is_none());
        rare.deref_mut().0 = 3;
        rare.trim();
        assert_eq!(rare.deref().0, 3);
        rare.deref_mut().0 = 0;
        rare.trim();
        assert!(rare.0.is_none());
    }
}
