import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import { openInspection } from '../../../inspection/client/inspection-client.ts'
import { StatusResponseSchema } from '../../../inspection/generated/inspection_pb.ts'
import type { CommandContext } from '../command/command-module.ts'
import { addSocketFlags, type SocketFlags } from '../socket/socket-flags.ts'
import { isWell, statusText } from './status-text.ts'

/** `node-proxy status`: whether the node-proxy of this node works, and what does not. */
export function define(command: Command, { host, finish }: CommandContext): void {
  addSocketFlags(command).action(async ({ socket, output }: SocketFlags) => {
    const client = openInspection(socket)
    try {
      const status = await client.status()
      const text =
        output === 'json'
          ? `${JSON.stringify(toJson(StatusResponseSchema, status, { alwaysEmitImplicit: true }), null, 2)}\n`
          : statusText(status, Date.now())
      host.stdout.write(text)
      finish(isWell(status) ? 0 : 1)
    } finally {
      client.close()
    }
  })
}
