import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import {
  type BackendTraffic,
  type ServiceTraffic,
  ServiceTrafficSchema,
  type Traffic,
} from '../../inspection/generated/inspection_pb.ts'
import { hostPort } from '../../lib/ip.ts'
import type { CommandContext } from './command-module.ts'
import { defineListing } from './socket-flags.ts'

/** Characters of the first column; a longer name shifts the other columns of its line. */
const NAME_WIDTH = 36

const COLUMNS = [
  { title: 'CONNECTIONS', of: ({ connections }: Traffic) => connections },
  { title: 'NOW', of: ({ connectionsNow }: Traffic) => connectionsNow },
  { title: 'PACKETS-IN', of: ({ packetsIn }: Traffic) => packetsIn },
  { title: 'BYTES-IN', of: ({ bytesIn }: Traffic) => bytesIn },
  { title: 'PACKETS-OUT', of: ({ packetsOut }: Traffic) => packetsOut },
  { title: 'BYTES-OUT', of: ({ bytesOut }: Traffic) => bytesOut },
]

/** Characters of a column: a number of 13 digits. */
const WIDTH = 13

/** `node-proxy traffic`: what was forwarded for each Service and backend, as far as the mode counts it. */
export function define(command: Command, context: CommandContext): void {
  defineListing(command, context, {
    read: (client, service) => client.traffic(service),
    json: (one) => toJson(ServiceTrafficSchema, one),
    text: trafficText,
    title: trafficHeader(),
  })
}

/** The titles of the columns. */
export function trafficHeader(): string {
  return line(
    'SERVICE',
    COLUMNS.map(({ title }) => title),
  )
}

/** A Service for people: one line for it, and one for each backend. `-`: not counted. */
export function trafficText({ service, total, backends }: ServiceTraffic): string {
  return [
    line(service, numbersOf(total)),
    ...backends.map((one) => line(`  ${backendName(one, service)}`, numbersOf(one.traffic))),
  ].join('')
}

function line(name: string, cells: readonly string[]): string {
  const padded = cells.map((cell) => cell.padStart(WIDTH))
  return `${name.padEnd(NAME_WIDTH)} ${padded.join(' ')}\n`
}

function numbersOf(traffic: Traffic | undefined): readonly string[] {
  return COLUMNS.map(
    ({ of }) => (traffic === undefined ? undefined : of(traffic))?.toString() ?? '-',
  )
}

/** `10.0.0.1:80`, and the port of the Service by which it is reached: `http/TCP`. */
function backendName({ entry, ip, port }: BackendTraffic, service: string): string {
  const [name = '', protocol = ''] = entry.slice(service.length + 1).split('/')
  return `${hostPort(ip, port)} ${name}${name === '' ? '' : '/'}${protocol}`
}
