import { runCommand } from './command.ts'

/** One network namespace of the sandbox. */
export interface Namespace {
  /** As `ip netns` knows it. */
  readonly name: string
  /** The command as it is run inside. */
  command(command: readonly string[]): readonly string[]
  /** The same with the machine's mounts, so that namespaces made inside are there for everybody. */
  join(command: readonly string[]): readonly string[]
  /** Runs a command inside and returns its standard output. */
  exec(command: readonly string[]): Promise<string>
  /** Runs sub-commands of `ip` inside, as one batch that ends at the first error. */
  ip(lines: readonly string[]): Promise<void>
  /** Writes kernel settings of this namespace: `net.ipv4.ip_forward` → 1. */
  set(settings: Readonly<Record<string, number | string>>): Promise<void>
}

/** Creates a namespace with its loopback up. */
export async function addNamespace(name: string): Promise<Namespace> {
  await runCommand(['ip', 'netns', 'add', name])
  const namespace = namespaceNamed(name)
  await namespace.ip(['link set lo up'])
  return namespace
}

/** A namespace that exists already. */
export function namespaceNamed(name: string): Namespace {
  const inside = (command: readonly string[]): readonly string[] => [
    ...['ip', 'netns', 'exec', name],
    ...command,
  ]
  const exec = (command: readonly string[]): Promise<string> => runCommand(inside(command))
  return {
    name,
    command: inside,
    join: (command) => ['nsenter', `--net=/run/netns/${name}`, ...command],
    exec,
    ip: async (lines) => {
      await runCommand(['ip', '-n', name, '-batch', '-'], `${lines.join('\n')}\n`)
    },
    set: async (settings) => {
      const words = Object.entries(settings).map(([key, value]) => `${key}=${value}`)
      await exec(['sysctl', '-q', '-w', ...words])
    },
  }
}
