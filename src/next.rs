//! What a machine returns when it is polled.

/// The next effect of a machine, or how long to wait for the next input.
///
/// Poll after each input, perform each effect in order, and stop polling at [`Next::Wait`]. Then
/// wait for the next input, at most until `until`, and send the machine's timer input if no other
/// input arrived by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Next<E> {
    /// An action that the host must perform before it polls again.
    Effect(E),
    /// No effect is left.
    Wait {
        /// When to send the timer input if no other input arrives, in milliseconds on the clock of
        /// `handle`. `None` before the start and after the end: no time limit runs.
        until: Option<u64>,
    },
}
