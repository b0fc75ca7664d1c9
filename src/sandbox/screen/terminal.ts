import type { Size } from './screen.ts'

/** The terminal while the screen is shown; `close` restores its previous state. */
export interface Terminal {
  size(): Size
  draw(lines: readonly string[]): void
  close(): void
}

const ENTER = '\u001b[?1049h\u001b[?25l'
/** The escape sequence that shows the cursor and the previous screen. */
export const LEAVE = '\u001b[?25h\u001b[?1049l'
const HOME = '\u001b[H'
const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[J'

/** Takes over the terminal: alternate screen, no cursor, raw keys. */
export function openTerminal(onKey: (key: string) => void): Terminal {
  const { stdin, stdout } = process
  const onData = (keys: string): void => {
    for (const key of keys) onKey(key)
  }
  if (stdin.isTTY) {
    stdin.setRawMode(true)
    stdin.setEncoding('utf8')
    stdin.on('data', onData)
  }
  stdout.write(ENTER)
  return {
    size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
    draw: (lines) => {
      stdout.write(HOME + lines.map((line) => line + CLEAR_LINE).join('\r\n') + CLEAR_BELOW)
    },
    close: () => {
      stdout.write(LEAVE)
      if (!stdin.isTTY) return
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}
