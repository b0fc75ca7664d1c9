import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'
import { bufferOver } from '../lib/own-buffer.ts'

/** What gRPC needs to know of a service: paths, and how to serialise messages. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((one) => [one.localName, methodDefinition(one)]))
}

/** The same for one method. */
export function methodDefinition(
  method: DescMethod,
): MethodDefinition<MessageShape<DescMessage>, MessageShape<DescMessage>> {
  const { input, output, methodKind } = method
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: encoder(input),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: encoder(output),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
    originalName: method.localName,
  }
}

function encoder(schema: DescMessage) {
  return (message: MessageShape<DescMessage>): Buffer => bufferOver(toBinary(schema, message))
}
