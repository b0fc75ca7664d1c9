import { readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from './run-command.ts'

/** The folder in which `ip netns` keeps named network namespaces. */
export const NAMESPACE_FOLDER = '/run/netns'

/** The file of a named network namespace. */
export function namespacePath(name: string): string {
  return join(NAMESPACE_FOLDER, name)
}

/** A network namespace, in which programs run. */
export interface Namespace {
  /** Its name for `ip netns`; undefined: the namespace of this process. */
  readonly name: string | undefined
  /** The command that runs `command` in the namespace; programs are found in PATH. */
  inside(command: readonly string[]): readonly string[]
  /** Runs subcommands of `ip` in the namespace, as one batch. @throws the first error, which ends the batch */
  ip(lines: readonly string[]): Promise<void>
  /** Writes kernel settings of this namespace: `net.ipv4.ip_forward` → 1. */
  set(settings: Readonly<Record<string, number>>): Promise<void>
}

/** The namespace of a name, which must exist; undefined: that of this process. */
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

/** Whether `name` is the namespace of this process. */
export async function isOwnNamespace(name: string): Promise<boolean> {
  const [own, other] = await Promise.all([readlink('/proc/self/ns/net'), stat(namespacePath(name))])
  return own === `net:[${other.ino}]`
}
