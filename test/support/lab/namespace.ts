import { type CommandOptions, run } from './command.ts'

/** One network namespace of a lab. */
export interface Namespace {
  /** The name for `ip netns`. */
  readonly name: string
  /** Process ids in it that no signal to a program of the namespace reaches. */
  readonly spared: Set<number>
  /** Runs a command inside it and returns its standard output. */
  exec(command: readonly string[], options?: CommandOptions): Promise<string>
  /** Runs `ip` sub-commands inside it, as one batch that stops at the first error. */
  ip(lines: readonly string[]): Promise<void>
  remove(): Promise<void>
}

/** Creates a namespace with its loopback up. */
export async function addNamespace(name: string): Promise<Namespace> {
  await run(['ip', 'netns', 'add', name], { atOnce: true })
  const namespace = namespaceNamed(name)
  await namespace.ip(['link set lo up'])
  return namespace
}

function namespaceNamed(name: string): Namespace {
  return {
    name,
    spared: new Set(),
    exec: (command, options) => run(['ip', 'netns', 'exec', name, ...command], options),
    async ip(lines) {
      if (lines.length === 0) return
      const input = `${lines.join('\n')}\n`
      await run(['ip', '-n', name, '-batch', '-'], { input, atOnce: true })
    },
    async remove() {
      await run(['ip', 'netns', 'del', name], { atOnce: true })
    },
  }
}
