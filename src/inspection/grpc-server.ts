import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import { HealthImplementation } from 'grpc-health-check'
import {
  type Change,
  ChangeSchema,
  type DocumentPart,
  DocumentPartSchema,
  type Entry,
  EntrySchema,
  type ExplainRequest,
  type ExplainResponse,
  ExplainResponseSchema,
  file_inspection,
  Inspection,
  type ListEntriesRequest,
  type ListTrafficRequest,
  type ReadDocumentsRequest,
  type ServiceTraffic,
  ServiceTrafficSchema,
  type StatusRequest,
  type StatusResponse,
  StatusResponseSchema,
  type WatchChangesRequest,
} from './generated/inspection_pb.ts'
import type { InspectionSource } from './inspection-source.ts'
import { serviceDefinition } from './service-definition.ts'

/** The most changes that wait for a slow reader; its call ends when there are more. */
const MAX_WAITING_CHANGES = 5_000

/** A gRPC server for connections that something else accepts. */
export interface InspectionServer {
  /** Serves one connection, a stream socket. */
  inject(connection: Socket): void
  /** Ends all calls and connections. */
  close(): void
}

/** Creates the server with health and reflection (grpc.health.v1, grpc.reflection.v1). */
export function createInspectionServer(source: InspectionSource): InspectionServer {
  const server = new Server()
  server.addService(serviceDefinition(Inspection), handlers(source))
  new HealthImplementation({ '': 'SERVING', [Inspection.typeName]: 'SERVING' }).addToServer(server)
  reflection().addToServer(server)
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  return {
    inject: (connection) => injector.injectConnection(connection),
    close() {
      injector.destroy()
      server.forceShutdown()
    },
  }
}

function reflection(): ReflectionService {
  const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file_inspection.proto))
  const format = 'Protocol Buffer 3 DescriptorProto'
  return new ReflectionService({
    [Inspection.typeName]: { format, type: {}, fileDescriptorProtos: [bytes] },
  })
}

function handlers(source: InspectionSource) {
  const readStatus: handleUnaryCall<StatusRequest, StatusResponse> = (_, answer) =>
    answer(null, create(StatusResponseSchema, source.status()))
  const listEntries: handleServerStreamingCall<ListEntriesRequest, Entry> = (call) =>
    void writeAll(source.entries(call.request.service), EntrySchema, call)
  const listTraffic: handleServerStreamingCall<ListTrafficRequest, ServiceTraffic> = (call) =>
    void writeAll(source.traffic(call.request.service), ServiceTrafficSchema, call)
  const explain: handleUnaryCall<ExplainRequest, ExplainResponse> = ({ request }, answer) => {
    const found = source.explain(request)
    if (typeof found === 'string') answer({ code: status.INVALID_ARGUMENT, details: found })
    else answer(null, create(ExplainResponseSchema, found))
  }
  const watchChanges: handleServerStreamingCall<WatchChangesRequest, Change> = (call) =>
    writeChanges(source, call)
  const readDocuments: handleServerStreamingCall<ReadDocumentsRequest, DocumentPart> = (call) =>
    void writeAll(source.documents(), DocumentPartSchema, call)
  return { status: readStatus, listEntries, listTraffic, explain, watchChanges, readDocuments }
}

/** Writes messages that are made when the reader takes them, so that a slow reader needs no memory. */
async function writeAll<S extends DescMessage>(
  messages: Iterable<MessageInitShape<S>> | AsyncIterable<MessageInitShape<S>>,
  schema: S,
  call: ServerWritableStream<unknown, MessageShape<S>>,
): Promise<void> {
  try {
    for await (const message of messages) {
      if (call.cancelled) return
      if (!call.write(create(schema, message))) await writable(call)
    }
    call.end()
  } catch (error) {
    call.emit('error', { code: status.INTERNAL, details: String(error) })
  }
}

function writable(call: Pick<EventEmitter, 'once' | 'removeListener'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const events = ['drain', 'cancelled', 'close'] as const
  const done = (): void => {
    for (const event of events) call.removeListener(event, done)
    resolve()
  }
  for (const event of events) call.once(event, done)
  return promise
}

function writeChanges(
  source: InspectionSource,
  call: ServerWritableStream<WatchChangesRequest, Change>,
): void {
  const stop = source.watchChanges((change: MessageInitShape<typeof ChangeSchema>) => {
    call.write(create(ChangeSchema, change))
    if (call.writableLength <= MAX_WAITING_CHANGES) return
    stop()
    call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'the reader is too slow' })
  })
  call.once('cancelled', stop)
  call.once('close', stop)
}
