import { type CommandOptions, run } from './command.ts'

/** The `ip` sub-command without which a namespace reaches not even itself. */
export const LOOPBACK_UP = 'link set lo up'

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
  const namespace = await addEmptyNamespace(name)
  await namespace.ip([LOOPBACK_UP])
  return namespace
}

/** Creates a namespace. The first batch in it starts with `LOOPBACK_UP`, which so needs no program of its own. */
export async function addEmptyNamespace(name: string): Promise<Namespace> {
  await run(['ip', 'netns', 'add', name], { atOnce: true })
  return namespaceNamed(name)
}

/** Removes several by one program, the others also if one is gone. */
export async function removeNamespaces(namespaces: readonly Namespace[]): Promise<void> {
  if (namespaces.length === 0) return
  const input = namespaces.map(({ name }) => `netns del ${name}\n`).join('')
  await run(['ip', '-force', '-batch', '-'], { input, atOnce: true })
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
