import type { MessageInitShape } from '@bufbuild/protobuf'
import { refuseDuplicateKeys } from '../distinct-keys.ts'
import type { Compare, Operation, StoredEntry, Transaction, TxnResult } from '../store.ts'
import {
  Compare_CompareTarget,
  type RequestOpSchema,
  type ResponseOp,
  type TxnRequestSchema,
  type TxnResponse,
} from './generated/etcd_pb.ts'
import type { KeySpace } from './key-space.ts'

/** The transaction as etcd runs it: where a compare fails, it reads what was compared. */
export function txnRequest(
  { compare, operations }: Transaction,
  keys: KeySpace,
): MessageInitShape<typeof TxnRequestSchema> {
  refuseDuplicateKeys(operations)
  return {
    compare: compare.map((one) => revisionIs(one, keys)),
    success: operations.map((operation) => ({ request: requestOf(operation, keys) })),
    failure: compare.map(({ key }) => ({
      request: { case: 'requestRange', value: { key: keys.encode(key) } },
    })),
  }
}

export function txnResult(response: TxnResponse, keys: KeySpace): TxnResult {
  const revision = Number(response.header?.revision ?? 0n)
  if (response.succeeded) return { committed: true, revision }
  const current = response.responses.map((one) => found(one, keys))
  return { committed: false, revision, current }
}

/** An absent key has the revision 0 in etcd, too. */
function revisionIs({ key, modRevision }: Compare, keys: KeySpace) {
  return {
    target: Compare_CompareTarget.MOD,
    key: keys.encode(key),
    targetUnion: { case: 'modRevision' as const, value: BigInt(modRevision) },
  }
}

function requestOf(
  operation: Operation,
  keys: KeySpace,
): NonNullable<MessageInitShape<typeof RequestOpSchema>['request']> {
  const key = keys.encode(operation.key)
  if (operation.op === 'delete') return { case: 'requestDeleteRange', value: { key } }
  return { case: 'requestPut', value: { key, value: operation.value } }
}

function found({ response }: ResponseOp, keys: KeySpace): StoredEntry | undefined {
  const pair = response.case === 'responseRange' ? response.value.kvs[0] : undefined
  return pair && keys.entry(pair)
}
