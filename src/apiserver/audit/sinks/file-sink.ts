import type { Writable } from 'node:stream'
import type { AuditSink } from './audit-sink.ts'
import { BufferedSink, type Deliver, type SinkContext } from './buffered-sink.ts'
import { RotatedFile, type RotatedFileOptions } from './rotated-file.ts'

export type FileSinkOptions = Pick<
  RotatedFileOptions,
  'path' | 'maxBytes' | 'maxBackups' | 'maxAgeDays'
>

/**
 * Writes events to a rotated file.
 * @throws NP_APISERVER_AUDIT_FILE when it cannot be opened now
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
      // A hanging disk must not prevent the server from ending.
      void file.close()
    },
  }
}

/** Writes events to a stream, such as standard output. */
export function streamSink(context: SinkContext, stream: Writable): AuditSink {
  return lineSink(context, streamOutput(stream))
}

/** A sink that retries for as long as its output fails, because there is no other receiver. */
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

/** Writes lines to a stream, each batch after the one before it is written. */
function streamOutput(stream: Writable): Deliver {
  // If the reader is gone, the next write fails, too.
  stream.on('error', () => undefined)
  return (lines) =>
    new Promise((resolve) => {
      stream.write(lines.map((line) => `${line}\n`).join(''), (error) => {
        if (error) resolve({ lines: 0, failure: { error, canRetry: !stream.destroyed } })
        else resolve({ lines: lines.length })
      })
    })
}
