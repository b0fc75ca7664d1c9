import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Reads whether all went well; if not, or if the writer is gone, ends the whole group. */
const SCRIPT = 'read -r word; [ "$word" = gone ] || kill -s KILL -- "-$1"; rm -rf -- "$2"'

/**
 * Cleans up behind a kernel, even when this process is killed: a kernel is a
 * group of processes that would live on, and a folder. It stands in a session
 * of its own, where no Ctrl-C reaches it.
 */
export class Guard {
  readonly #child

  constructor(group: number, scratch: string) {
    this.#child = spawn('sh', ['-c', SCRIPT, 'np-uml-guard', String(group), scratch], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#child.stdin.on('error', () => undefined)
    this.#child.on('error', () => undefined)
  }

  /** The kernel ended by itself; resolves when its folder is gone. */
  async dismiss(): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.#child.stdin.end('gone\n')
    await once(this.#child, 'exit')
  }
}
