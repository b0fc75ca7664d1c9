import type { ExplanationDocument, ServiceLine } from '../../../inspection/answers.ts'
import type {
  ChangeJson,
  EntryJson,
  ServiceTrafficJson,
  StatusResponseJson,
} from '../../../inspection/generated/inspection_pb.ts'
import type { Connection } from './connection.ts'

/** The packet to explain, as the user writes it. */
export interface ExplainQuery {
  /** An address, or `node`. */
  readonly source: string
  /** ADDRESS:PORT, or namespace/name[:port]. */
  readonly destination: string
  readonly protocol: string
  /** Empty: the interface of the route back. */
  readonly inInterface: string
}

/** What a node-proxy answers: see docs/operate/page.md. Each throws RequestError. */
export interface NodeApi {
  status(signal: AbortSignal): Promise<StatusResponseJson>
  services(signal: AbortSignal): AsyncGenerator<readonly ServiceMessage[]>
  entries(service: string, signal: AbortSignal): AsyncGenerator<readonly EntryMessage[]>
  /** Empty: of all Services. */
  traffic(service: string, signal: AbortSignal): AsyncGenerator<readonly ServiceTrafficMessage[]>
  /** The last ones, and then each further one until it is stopped. */
  changes(signal: AbortSignal): AsyncGenerator<readonly ChangeJson[]>
  explain(query: ExplainQuery, signal: AbortSignal): Promise<ExplanationDocument>
}

export function nodeApi(connection: Connection): NodeApi {
  return {
    status: (signal) => connection.json('status', signal),
    services: (signal) => connection.lines('services', signal),
    entries: (service, signal) => connection.lines(`entries?${query({ service })}`, signal),
    traffic: (service, signal) => connection.lines(`traffic?${query({ service })}`, signal),
    changes: (signal) => connection.lines('changes', signal),
    explain: ({ source, destination, protocol, inInterface }, signal) =>
      connection.json(
        `explain?${query({ source, destination, protocol, interface: inInterface })}`,
        signal,
      ),
  }
}

/** A message of which some fields are always there; a daemon of another version may leave out each of the others. */
type Having<T, K extends keyof T> = Partial<T> & Required<Pick<T, K>>

export type EntryMessage = Having<EntryJson, 'id'>
export type ServiceMessage = Having<ServiceLine, 'service'>
export type ServiceTrafficMessage = Having<ServiceTrafficJson, 'service'>

/** Milliseconds in which half and 99 of 100 of the last changes reached the kernel. */
interface LatencyFigures {
  /** Undefined if there was no change yet. */
  readonly p50: number | undefined
  readonly p99: number | undefined
}

export function latencyOf({ programming }: StatusResponseJson): LatencyFigures {
  const { count = 0, p50Ms = 0, p99Ms = 0 } = programming ?? {}
  // JSON has no number for what is not finite, so protobuf writes that as text.
  return count > 0 ? { p50: Number(p50Ms), p99: Number(p99Ms) } : { p50: undefined, p99: undefined }
}

/** The query of a request, without empty fields. */
function query(fields: Readonly<Record<string, string>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== '')
  return `${new URLSearchParams(given)}`
}
