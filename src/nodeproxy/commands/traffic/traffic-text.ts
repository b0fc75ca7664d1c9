import type {
  BackendTraffic,
  ServiceTraffic,
  Traffic,
} from '../../../inspection/generated/inspection_pb.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import { hostPort } from '../../../lib/ip.ts'

/** Characters of the first column, which a longer name exceeds. */
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

/** The titles of the columns. */
export function trafficHeader(): string {
  return line(
    'SERVICE',
    COLUMNS.map(({ title }) => title),
  )
}

/** A Service for people: a line of its own, and one for each backend. `-` is not counted. */
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
  return `${hostPort(ip as IpAddress, port)} ${name}${name === '' ? '' : '/'}${protocol}`
}
