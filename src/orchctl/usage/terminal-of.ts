import type { ReadStream, WriteStream } from 'node:tty'
import type { Terminal } from './host.ts'

const USUAL = { width: 80, height: 24 } as const

/** The terminal of a process; its size is that of standard output, or the usual one where that is no terminal. */
export function terminalOf(input: ReadStream, output: WriteStream): Terminal {
  return {
    setRaw: (isRaw) => void input.setRawMode(isRaw),
    size: () => (output.isTTY ? { width: output.columns, height: output.rows } : USUAL),
    onResize: (changed) => {
      output.on('resize', changed)
      return () => output.off('resize', changed)
    },
  }
}
