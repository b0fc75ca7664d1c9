import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Command } from 'commander'
import { quote } from '../../../lib/quote.ts'
import { writeBundle } from '../bundle/bundle-file.ts'
import type { CommandContext } from '../command/command-module.ts'
import { addSocketFlags, type SocketFlags } from '../socket/socket-flags.ts'
import { recordNode } from './record-node.ts'

const NOTES = `
The file has rules, sets, virtual servers, addresses, routes and sockets of the kernel, and of
node-proxy its status, configuration, metrics and forwarding table. Private keys, tokens and
passwords are left out; names and addresses of Services and Pods are not.

Examples:
  node-proxy record
  node-proxy record /tmp/node7.tar.gz
  node-proxy explain --from /tmp/node7.tar.gz 10.0.0.2 shop/web
`

/** `node-proxy record`: what decides about packets on this node, as one file. */
export function define(command: Command, { host, finish }: CommandContext): void {
  command
    .argument('[file]', 'a new file; otherwise node-proxy-HOST-TIME.tar.gz here')
    .addHelpText('after', NOTES)
  addSocketFlags(command).action(async (given: string | undefined, flags: SocketFlags) => {
    const now = new Date()
    const file = given ?? defaultName(now)
    const say = (what: string) => host.stderr.write(`${what}\n`)
    const { files, missing } = await recordNode(host.version, flags.socket, (what) =>
      say(`${what} …`),
    )
    await writeBundle(file, files, now)
    const { size } = await stat(file)
    for (const one of missing) say(`not recorded: ${one}`)
    const result = { file, bytes: size, files: files.size, missing }
    host.stdout.write(
      flags.output === 'json'
        ? `${JSON.stringify(result)}\n`
        : `${quote(file)}: ${files.size} files, ${size} bytes\n`,
    )
    finish(missing.length === 0 ? 0 : 1)
  })
}

function defaultName(now: Date): string {
  const time = now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  return `node-proxy-${hostname().replaceAll(/[^\w.-]/g, '_')}-${time}Z.tar.gz`
}
