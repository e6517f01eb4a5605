//! An output that never blocks the queue, even if its reader stops reading.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum number of lines that wait for the reader. Further lines are omitted.
const WAITING: usize = 1_000;

/// Maximum time without progress at the end. After this time, the remaining lines are lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes in a thread. [`flush`](Write::flush) passes what was written since the last flush, usually
/// one line, to the thread. If too many lines wait, omits the line; the next line that is written
/// follows a line with the number of omitted ones.
pub struct Output {
    line: Vec<u8>,
    lines: Option<SyncSender<Vec<u8>>>,
    omitted: u64,
    /// The error that ended the thread.
    error: Arc<Mutex<Option<io::Error>>>,
    /// Receives a value per written line, and ends with the thread.
    written: Receiver<()>,
}

impl Output {
    /// Starts the thread that writes to `out`.
    ///
    /// # Errors
    /// The operating system cannot start a thread.
    pub fn start(mut out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, waiting) = sync_channel::<Vec<u8>>(WAITING);
        let (sender, written) = sync_channel(1);
        let error = Arc::default();
        let failed: Arc<Mutex<Option<io::Error>>> = Arc::clone(&error);
        let write = move || {
            for line in waiting {
                if let Err(error) = out.write_all(&line).and_then(|()| out.flush()) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
                // A full channel already reports progress.
                let _reported = sender.try_send(());
            }
        };
        thread::Builder::new()
            .name("output".to_owned())
            .spawn(write)?;
        Ok(Self {
            line: Vec::new(),
            lines: Some(lines),
            omitted: 0,
            error,
            written,
        })
    }

    fn send(&mut self, line: Vec<u8>) -> io::Result<bool> {
        let Some(lines) = &self.lines else {
            return Ok(false);
        };
        match lines.try_send(line) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => Ok(false),
            Err(TrySendError::Disconnected(_)) => {
                let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
                Err(error
                    .take()
                    .unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()))
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        if self.omitted > 0 {
            let note = format!(
                "({} lines omitted, because the output was not read)\n",
                self.omitted
            );
            line.splice(..0, note.into_bytes());
        }
        self.omitted = match self.send(line)? {
            true => 0,
            false => self.omitted + 1,
        };
        Ok(())
    }
}

impl Drop for Output {
    /// Waits until the lines are written, as long as the reader reads.
    fn drop(&mut self) {
        self.lines = None;
        loop {
            match self.written.recv_timeout(PATIENCE) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// A pipe whose reader does not read until `reads` ends.
    struct Pipe {
        starts: Sender<()>,
        reads: Receiver<()>,
        lines: Sender<String>,
    }

    impl Write for Pipe {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            let _started = self.starts.send(());
            let _ended = self.reads.recv();
            let _sent = self.lines.send(String::from_utf8_lossy(text).into_owned());
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn unread_output_blocks_no_writer_and_says_how_many_lines_it_omitted() {
        let ((starts, started), (stalls, reads)) = (channel(), channel());
        let (lines, read) = channel();
        let pipe = Pipe {
            starts,
            reads,
            lines,
        };
        let mut output = Output::start(pipe).unwrap();
        let print = |output: &mut Output, n: u32| {
            writeln!(output, "line {n}").unwrap();
            output.flush().unwrap();
        };
        print(&mut output, 0);
        started.recv().unwrap();
        for n in 1..5_000 {
            print(&mut output, n);
        }
        // The thread has one line, and 1,000 wait.
        let omitted = 3_999;
        assert_eq!(output.omitted, omitted);
        drop(stalls);
        for n in 0..=1_000 {
            assert_eq!(read.recv().unwrap(), format!("line {n}\n"));
        }
        writeln!(output, "last").unwrap();
        output.flush().unwrap();
        drop(output);
        let note = format!("({omitted} lines omitted, because the output was not read)\nlast\n");
        assert_eq!(read.recv().unwrap(), note);
        assert!(read.recv().is_err(), "the thread has ended");
    }

    #[test]
    fn failed_output_is_an_error_of_the_next_write() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut output = Output::start(Closed).unwrap();
        let failed = std::iter::repeat_with(|| {
            thread::yield_now();
            output.write_all(b"line\n").and_then(|()| output.flush())
        });
        let error = failed.filter_map(Result::err).next().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn end_does_not_wait_for_a_reader_that_reads_nothing() {
        let (stalls, reads) = channel();
        let mut output = Output::start(Pipe {
            starts: channel().0,
            reads,
            lines: channel().0,
        })
        .unwrap();
        writeln!(output, "line").unwrap();
        output.flush().unwrap();
        drop(output);
        drop(stalls);
    }
}
