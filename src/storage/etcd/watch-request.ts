import { create } from '@bufbuild/protobuf'
import { type WatchRequest, WatchRequestSchema } from './generated/etcd_pb.ts'
import type { KeyRange } from './key-space.ts'

/** Asks for every change of a range from `start` on. Large responses come in fragments. */
export function createWatch(range: KeyRange, start: number): WatchRequest {
  const value = { ...range, startRevision: BigInt(start), fragment: true }
  return create(WatchRequestSchema, { requestUnion: { case: 'createRequest', value } })
}
