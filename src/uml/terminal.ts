import { spawnSync } from 'node:child_process'

/** How this process's terminal was before a kernel took it. */
export interface RememberedTerminal {
  /** `rows columns`. */
  readonly size: string
  /** Reports the size whenever it changes; the result ends that. */
  follow(onSize: (size: string) => void): () => void
  restore(): void
}

export function rememberTerminal(): RememberedTerminal {
  const settings = stty('-g')
  return {
    size: stty('size'),
    follow(onSize) {
      const { stdout } = process
      const reportSize = (): void => onSize(`${stdout.rows} ${stdout.columns}`)
      stdout.on('resize', reportSize)
      return () => stdout.off('resize', reportSize)
    },
    restore: () => void stty(settings),
  }
}

function stty(argument: string): string {
  const { stdout } = spawnSync('stty', [argument], { stdio: ['inherit', 'pipe', 'ignore'] })
  return stdout.toString().trim()
}
