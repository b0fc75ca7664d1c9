import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { NodeProxyError } from '../lib/error.ts'
import {
  type Change,
  type DocumentPart,
  type Entry,
  type ExplainRequestSchema as ExplainRequestSchemaType,
  type ExplainResponse,
  Inspection,
  type ServiceTraffic,
  type StatusResponse,
} from './generated/inspection_pb.ts'
import { methodDefinition } from './service-definition.ts'

/**
 * Milliseconds for an answer. A node-proxy that has ended is noticed at once; one that is there loads gRPC with its
 * first connection, which takes several seconds on a node that is short of processor time.
 */
const TIMEOUT_MS = 60_000

/** Reads a running node-proxy. Every method throws NP_INSPECTION_UNREACHABLE or NP_INSPECTION_REFUSED. */
export interface InspectionClient {
  status(): Promise<StatusResponse>
  /** `service`: namespace/name, or namespace/; empty: all. */
  entries(service: string): AsyncIterable<Entry>
  /** What was forwarded, sorted by Service. `service`: as above. */
  traffic(service: string): AsyncIterable<ServiceTraffic>
  explain(request: MessageInitShape<typeof ExplainRequestSchemaType>): Promise<ExplainResponse>
  /** The last changes and each further one, until the signal is aborted. */
  changes(signal: AbortSignal): AsyncIterable<Change>
  /** Documents for a support bundle; a large one in several parts of its name. */
  documents(): AsyncIterable<DocumentPart>
  close(): void
}

/** Opens a client of the service on a Unix socket; it connects with the first request. */
export function openInspection(socket: string): InspectionClient {
  const client = new Client(`unix:${socket}`, credentials.createInsecure())
  const link: Link = { client, socket }
  const {
    status: statusMethod,
    explain,
    listEntries,
    listTraffic,
    watchChanges,
    readDocuments,
  } = Inspection.method
  return {
    status: () => unary<StatusResponse>(link, statusMethod, {}),
    explain: (request) => unary<ExplainResponse>(link, explain, request),
    entries: (service) => stream<Entry>(link, listEntries, { service }),
    traffic: (service) => stream<ServiceTraffic>(link, listTraffic, { service }),
    changes: (signal) => stream<Change>(link, watchChanges, {}, signal),
    documents: () => stream<DocumentPart>(link, readDocuments, {}),
    close: () => client.close(),
  }
}

/** Opens a client for as long as `use` runs. */
export async function withInspection<T>(
  socket: string,
  use: (client: InspectionClient) => Promise<T>,
): Promise<T> {
  const client = openInspection(socket)
  try {
    return await use(client)
  } finally {
    client.close()
  }
}

/** The connection, and the path of the socket for error messages. */
interface Link {
  readonly client: Client
  readonly socket: string
}

type Method = Parameters<typeof methodDefinition>[0]

function unary<O>(
  { client, socket }: Link,
  method: Method,
  init: Readonly<Record<string, unknown>>,
): Promise<O> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(method)
  const { promise, resolve, reject } = Promise.withResolvers<O>()
  client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    create(method.input, init),
    { deadline: Date.now() + TIMEOUT_MS },
    (error, answer) =>
      error === null ? resolve(answer as O) : reject(inspectionError(error, socket)),
  )
  return promise
}

async function* stream<O>(
  { client, socket }: Link,
  method: Method,
  init: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): AsyncGenerator<O> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition(method)
  const request = create(method.input, init)
  const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request)
  const cancel = (): void => call.cancel()
  signal?.addEventListener('abort', cancel)
  if (signal?.aborted === true) cancel()
  try {
    for await (const message of call) yield message as O
  } catch (error) {
    if (signal?.aborted !== true) throw inspectionError(error as ServiceError, socket)
  } finally {
    signal?.removeEventListener('abort', cancel)
    call.cancel()
  }
}

function inspectionError(error: ServiceError, socket: string): NodeProxyError {
  if (error.code === status.INVALID_ARGUMENT) {
    return new NodeProxyError('NP_INSPECTION_REFUSED', error.details, { cause: error })
  }
  return new NodeProxyError(
    'NP_INSPECTION_UNREACHABLE',
    `node-proxy does not answer on ${socket}: ${error.details}`,
    {
      object: socket,
      hint: 'check that it runs on this node, that --socket is its inspection.socket, and that you are root or of its group',
      cause: error,
    },
  )
}
