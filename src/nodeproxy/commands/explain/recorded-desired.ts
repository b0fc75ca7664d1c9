import { create } from '@bufbuild/protobuf'
import {
  ExplainRequestSchema,
  ExplainResponseSchema,
} from '../../../inspection/generated/inspection_pb.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { DESIRED_DOCUMENT, parseDesired } from '../../explanation/desired-document.ts'
import { explainMessage } from '../../explanation/explain-message.ts'
import { POOLS_DOCUMENT, parsePools } from '../../explanation/pools-document.ts'
import type { BundleFiles } from '../bundle/bundle-file.ts'
import type { ReadDesired } from './desired-query.ts'

const ABSENT =
  'node-proxy itself was not recorded: it did not run, or it had not listed the cluster'

/** What the recorded node-proxy wants. Throws a SyntaxError where a document is damaged. */
export function recordedDesired(files: BundleFiles): ReadDesired {
  const text = files.get(`node-proxy/${DESIRED_DOCUMENT}`)
  const pools = files.get(`node-proxy/${POOLS_DOCUMENT}`)
  const explained = pools === undefined ? {} : { explainPool: parsePools(pools) }
  const state = text === undefined ? undefined : { ...parseDesired(text), ...explained }
  return async (query) => {
    if (state === undefined) {
      if (query.dst !== '') return ABSENT
      throw new NodeProxyError('NP_INSPECTION_REFUSED', `destination: ${ABSENT}`, {
        hint: 'give the address and port of the Service',
      })
    }
    const found = explainMessage(state, create(ExplainRequestSchema, query))
    if (typeof found === 'string') throw new NodeProxyError('NP_INSPECTION_REFUSED', found)
    return create(ExplainResponseSchema, found)
  }
}
