import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import { openInspection } from '../../../inspection/client/inspection-client.ts'
import { EntrySchema } from '../../../inspection/generated/inspection_pb.ts'
import type { CommandContext } from '../command/command-module.ts'
import { addSocketFlags, type SocketFlags } from '../socket/socket-flags.ts'
import { entryText } from './entry-text.ts'

/** `node-proxy entries`: what this node forwards, as it was compiled from Services and endpoints. */
export function define(command: Command, { host, finish }: CommandContext): void {
  command.argument('[service]', 'NAMESPACE/NAME, or NAMESPACE/ for all of a namespace', '')
  addSocketFlags(command).action(async (service: string, { socket, output }: SocketFlags) => {
    const client = openInspection(socket)
    let count = 0
    try {
      for await (const entry of client.entries(service)) {
        count++
        host.stdout.write(
          output === 'json' ? `${JSON.stringify(toJson(EntrySchema, entry))}\n` : entryText(entry),
        )
      }
    } finally {
      client.close()
    }
    if (count > 0 || service === '') return finish(0)
    host.stderr.write(`node-proxy: this node forwards no port of ${JSON.stringify(service)}\n`)
    finish(1)
  })
}
