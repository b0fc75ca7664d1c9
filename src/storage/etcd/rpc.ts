import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { type Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js'
import { bufferOver } from '../../lib/own-buffer.ts'

/** Requests and responses of one method, as a stream. */
export type Duplex<I extends DescMessage, O extends DescMessage> = ClientDuplexStream<
  MessageShape<I>,
  MessageShape<O>
>

interface Method {
  readonly name: string
  readonly parent: { readonly typeName: string }
}

/** When a call ends without an answer: after `timeoutMs`, or when `signal` is aborted. */
export interface CallLimits {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** Sends one request and returns its response. @throws the `ServiceError` of gRPC */
export function unary<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodUnary<I, O>,
  init: MessageInitShape<I>,
  { timeoutMs, signal }: CallLimits,
): Promise<MessageShape<O>> {
  const { promise, resolve, reject } = Promise.withResolvers<MessageShape<O>>()
  const call = client.makeUnaryRequest(
    pathOf(method),
    encoder(method.input),
    decoder(method.output),
    create(method.input, init),
    leaderRequired(),
    { deadline: Date.now() + timeoutMs },
    (error, response) => (error === null ? resolve(response!) : reject(error)),
  )
  const cancel = (): void => call.cancel()
  signal?.addEventListener('abort', cancel)
  return promise.finally(() => signal?.removeEventListener('abort', cancel))
}

/** Opens a stream in both directions, which ends when `signal` is aborted. Its status after `cancel()` is ignored. */
export function stream<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodBiDiStreaming<I, O>,
  signal: AbortSignal,
): Duplex<I, O> {
  const call = client.makeBidiStreamRequest(
    pathOf(method),
    encoder(method.input),
    decoder(method.output),
    leaderRequired(),
  )
  call.on('error', () => undefined)
  const cancel = (): void => call.cancel()
  signal.addEventListener('abort', cancel)
  call.once('status', () => signal.removeEventListener('abort', cancel))
  return call
}

/** The responses of a stream, which is read only as fast as they are consumed. */
export function responses<I extends DescMessage, O extends DescMessage>(
  call: Duplex<I, O>,
): AsyncIterable<MessageShape<O>> {
  return call
}

function pathOf(method: Method): string {
  return `/${method.parent.typeName}/${method.name}`
}

function encoder<T extends DescMessage>(schema: T) {
  return (message: MessageShape<T>): Buffer => bufferOver(toBinary(schema, message))
}

function decoder<T extends DescMessage>(schema: T) {
  return (bytes: Buffer): MessageShape<T> => fromBinary(schema, bytes)
}

/** Makes a member without a leader fail the call at once instead of waiting for one. */
function leaderRequired(): Metadata {
  const metadata = new Metadata()
  metadata.set('hasleader', 'true')
  return metadata
}
