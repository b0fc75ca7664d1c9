import type { Writable } from 'node:stream'
import { type AuditSink, BufferedSink, type Deliver, type SinkContext } from './buffered-sink.ts'
import { RotatedFile, type RotatedFileOptions } from './rotated-file.ts'

/** The file and its limits; see `RotatedFileOptions`. */
export type FileSinkOptions = Pick<
  RotatedFileOptions,
  'path' | 'maxBytes' | 'maxBackups' | 'maxAgeDays'
>

/**
 * Opens a file that is rotated, and returns a sink that writes events to it, one event per line.
 * @throws NP_APISERVER_AUDIT_FILE if the file cannot be opened
 */
export async function openFileSink(
  context: SinkContext,
  options: FileSinkOptions,
): Promise<AuditSink> {
  const { clock, failures } = context
  const onRotationFailure = (err: unknown): void =>
    failures.report('audit rotation', {
      level: 'error',
      fields: { file: options.path, err },
      message: 'the audit log could not be rotated',
      summary: () => ({ file: options.path }),
    })
  const file = new RotatedFile({ ...options, clock, onRotationFailure })
  await file.open()
  const sink = lineSink(context, (lines) => file.append(lines))
  return {
    write: (line) => sink.write(line),
    async close() {
      await sink.close()
      // This is not awaited, because the server must end even if the disk does not respond.
      void file.close()
    },
  }
}

/** Returns a sink that writes events to a stream, such as standard output, one event per line. */
export function streamSink(context: SinkContext, stream: Writable): AuditSink {
  return lineSink(context, streamOutput(stream))
}

/**
 * A sink that repeats a failed write, because there is no other receiver. It stops when the write succeeds, when no
 * later attempt can succeed (the stream is destroyed), or when the sink is closed.
 */
function lineSink(context: SinkContext, deliver: Deliver): BufferedSink {
  return new BufferedSink({
    ...context,
    name: 'log',
    deliver,
    queue: { lines: 100_000, bytes: 64 << 20 },
    batch: { lines: 1000, bytes: 2 << 20 },
    gatherMs: 0,
    retry: { baseMs: 250, maxMs: 2000, attempts: Number.POSITIVE_INFINITY },
    closeMs: 2000,
  })
}

/**
 * Writes batches of lines to a stream. A delivery resolves when the stream has written the batch, or failed to. A batch
 * that failed counts as not written at all.
 */
function streamOutput(stream: Writable): Deliver {
  // The listener prevents that an error ends the process. The callback of the failed write, or of the next one,
  // receives the error.
  stream.on('error', () => undefined)
  return (lines) =>
    new Promise((resolve) => {
      stream.write(lines.map((line) => `${line}\n`).join(''), (error) => {
        if (error) resolve({ lines: 0, failure: { error, canRetry: !stream.destroyed } })
        else resolve({ lines: lines.length })
      })
    })
}
