import {
  type Namespace as NetworkNamespace,
  namespaceNamed as networkNamespace,
} from '../../nodeagent/system/namespace.ts'
import { runCommand } from '../../nodeagent/system/run-command.ts'

/**
 * One network namespace of the sandbox. Processes inside keep the machine's mount namespace, so that the network
 * namespaces that they create are visible to every process.
 */
export interface Namespace extends NetworkNamespace {
  readonly name: string
  /** Runs a command inside and returns its standard output. */
  exec(command: readonly string[]): Promise<string>
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
  const namespace = networkNamespace(name)
  return { ...namespace, name, exec: (command) => runCommand(namespace.inside(command)) }
}
