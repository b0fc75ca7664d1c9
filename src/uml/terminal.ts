import { spawnSync } from 'node:child_process'

/** How this process's terminal was before a kernel took it. */
export interface RememberedTerminal {
  /** `rows columns`. */
  readonly size: string
  restore(): void
}

export function rememberTerminal(): RememberedTerminal {
  const settings = stty('-g')
  return { size: stty('size'), restore: () => void stty(settings) }
}

function stty(argument: string): string {
  const { stdout } = spawnSync('stty', [argument], { stdio: ['inherit', 'pipe', 'ignore'] })
  return stdout.toString().trim()
}
