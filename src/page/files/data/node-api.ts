import type { Connection } from './connection.ts'
import type { ExplanationMessage } from './explanation.ts'
import type {
  ChangeMessage,
  EntryMessage,
  ServiceMessage,
  ServiceTrafficMessage,
  StatusMessage,
} from './messages.ts'

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
  status(signal: AbortSignal): Promise<StatusMessage>
  services(signal: AbortSignal): AsyncGenerator<readonly ServiceMessage[]>
  entries(service: string, signal: AbortSignal): AsyncGenerator<readonly EntryMessage[]>
  /** Empty: of all Services. */
  traffic(service: string, signal: AbortSignal): AsyncGenerator<readonly ServiceTrafficMessage[]>
  /** The last changes, and then each further one, until the signal. */
  changes(signal: AbortSignal): AsyncGenerator<readonly ChangeMessage[]>
  explain(query: ExplainQuery, signal: AbortSignal): Promise<ExplanationMessage>
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

/** The query of a request, without empty fields. */
function query(fields: Readonly<Record<string, string>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== '')
  return `${new URLSearchParams(given)}`
}
