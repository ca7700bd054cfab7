//! Keeps recursion within the stack that the thread really has.
//!
//! Templates nest as deep as their author likes. Instead of guessing how much stack a level costs, the depth is
//! measured: the distance between the address of a local variable now and at the start.

use std::io;

/// A stretch of the current thread's stack that recursion may use.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    base: usize,
    size: usize,
}

impl Stack {
    /// Returns the stretch of `size` bytes that begins at the caller's frame.
    pub fn here(size: usize) -> Stack {
        Stack { base: address(), size }
    }

    /// Tells whether the stretch is used up. Must be asked on the thread that made it.
    pub fn is_exhausted(self) -> bool {
        self.base.abs_diff(address()) > self.size
    }
}

#[inline(never)]
fn address() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&marker)).addr()
}

/// Room below the usable stretch for what does not measure itself: printing, conversion, drops.
const RESERVE: usize = 4 << 20;

/// Runs `work` on a thread of its own with `size` bytes of stack to recurse in.
///
/// The operating system only hands out the part that is touched. Fails when no thread can be made.
pub fn on_large_stack<T: Send>(size: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().stack_size(size.saturating_add(RESERVE)).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("the rendering thread panicked"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dive(stack: Stack, depth: usize) -> usize {
        if stack.is_exhausted() {
            return depth;
        }
        std::hint::black_box(dive(stack, depth + 1))
    }

    #[test]
    fn recursion_ends_before_the_stack_does() {
        assert!(dive(Stack::here(100_000), 0) > 100);
    }

    #[test]
    fn a_large_stack_allows_deeper_recursion() {
        let small = dive(Stack::here(100_000), 0);
        let large = on_large_stack(64 << 20, || dive(Stack::here(64 << 20), 0)).unwrap();
        assert!(large > 100 * small);
    }
}
