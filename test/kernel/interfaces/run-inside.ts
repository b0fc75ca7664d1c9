import { fileURLToPath } from 'node:url'
import { addNamespace } from '../../support/lab/namespace.ts'

/**
 * Gives the program that follows a /run of its own: the xtables lock lies there,
 * and other tests that run at the same time take the machine's. The mount
 * namespace is the one that `ip netns exec` makes for each program.
 */
const OWN_RUN = ['sh', '-c', 'mount -t tmpfs tmpfs /run && exec "$@"', 'sh']

/**
 * Runs a script of this folder in a network namespace of its own and returns
 * what it printed, parsed as JSON. A netlink socket belongs to the namespace of
 * the process that opens it, so the code under test has to run inside.
 */
export async function runInside(
  script: string,
  options: {
    readonly setup?: readonly (readonly string[])[]
    readonly args?: readonly string[]
  } = {},
): Promise<unknown> {
  const namespace = await addNamespace(`np-interface-${process.pid}-${script.replace(/\W/g, '-')}`)
  try {
    for (const command of options.setup ?? []) await namespace.exec(command)
    const path = fileURLToPath(new URL(script, import.meta.url))
    const command = [...OWN_RUN, process.execPath, '--no-warnings', path, ...(options.args ?? [])]
    return JSON.parse(await namespace.exec(command, { timeoutMs: 250_000 }))
  } finally {
    await namespace.remove()
  }
}
