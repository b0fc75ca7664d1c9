import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import { openInspection } from '../../../inspection/client/inspection-client.ts'
import { ServiceTrafficSchema } from '../../../inspection/generated/inspection_pb.ts'
import type { CommandContext } from '../command/command-module.ts'
import { addSocketFlags, type SocketFlags } from '../socket/socket-flags.ts'
import { trafficHeader, trafficText } from './traffic-text.ts'

/** `node-proxy traffic`: what was forwarded for each Service and backend, as far as the mode counts it. */
export function define(command: Command, { host, finish }: CommandContext): void {
  command.argument('[service]', 'NAMESPACE/NAME, or NAMESPACE/ for all of a namespace', '')
  addSocketFlags(command).action(async (service: string, { socket, output }: SocketFlags) => {
    const client = openInspection(socket)
    const isJson = output === 'json'
    let count = 0
    try {
      for await (const one of client.traffic(service)) {
        if (!isJson && count === 0) host.stdout.write(trafficHeader())
        count++
        host.stdout.write(
          isJson ? `${JSON.stringify(toJson(ServiceTrafficSchema, one))}\n` : trafficText(one),
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
