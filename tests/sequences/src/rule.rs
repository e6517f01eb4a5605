//! Rules: the reasons for a reference's results.

use std::fmt::Debug;

pub trait Rule: Copy + Debug + Ord + 'static {
    const ALL: &'static [Self];

    fn row(self) -> &'static str;
}

/// Defines the enum `Rule`, with a description of each rule.
#[macro_export]
macro_rules! rules {
    ($($rule:ident: $row:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $(#[doc = $row] $rule,)*
        }

        impl $crate::Rule for Rule {
            const ALL: &'static [Self] = &[$(Self::$rule),*];

            fn row(self) -> &'static str {
                match self {
                    $(Self::$rule => $row,)*
                }
            }
        }
    };
}
