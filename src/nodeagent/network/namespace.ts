import { readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../system/run-command.ts'

/** Where `ip` keeps network namespaces by their names. */
export const NAMESPACE_FOLDER = '/run/netns'

export function namespacePath(name: string): string {
  return join(NAMESPACE_FOLDER, name)
}

/** A network namespace, as a place to run programs in. */
export interface Namespace {
  /** As `ip netns` knows it; undefined: the one of this process. */
  readonly name: string | undefined
  /** The command that runs `command` inside; programs are looked for in PATH. */
  inside(command: readonly string[]): readonly string[]
  /** Runs sub-commands of `ip` inside, as one batch that ends at the first error. */
  ip(lines: readonly string[]): Promise<void>
  /** Writes kernel settings of this namespace: `net.ipv4.ip_forward` → 1. */
  set(settings: Readonly<Record<string, number>>): Promise<void>
}

/** A namespace that exists. */
export function namespaceNamed(name: string | undefined): Namespace {
  const inside = (command: readonly string[]): readonly string[] =>
    name === undefined ? command : ['nsenter', `--net=${namespacePath(name)}`, '--', ...command]
  const ip = name === undefined ? ['ip'] : ['ip', '-n', name]
  return {
    name,
    inside,
    ip: async (lines) => {
      await runCommand([...ip, '-batch', '-'], `${lines.join('\n')}\n`)
    },
    set: async (settings) => {
      const words = Object.entries(settings).map(([key, value]) => `${key}=${value}`)
      await runCommand(inside(['sysctl', '-q', '-w', ...words]))
    },
  }
}

/** Whether `name` stands for the namespace of this process itself. */
export async function isOwnNamespace(name: string): Promise<boolean> {
  const [own, other] = await Promise.all([readlink('/proc/self/ns/net'), stat(namespacePath(name))])
  return own === `net:[${other.ino}]`
}
