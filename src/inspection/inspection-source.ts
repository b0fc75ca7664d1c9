import type { MessageInitShape } from '@bufbuild/protobuf'
import type {
  ChangeSchema,
  DocumentPartSchema,
  EntrySchema,
  ExplainRequest,
  ExplainResponseSchema,
  ServiceTrafficSchema,
  StatusResponseSchema,
} from './generated/inspection_pb.ts'

/** What the service reads of the daemon at each request. No method changes anything. */
export interface InspectionSource {
  status(): MessageInitShape<typeof StatusResponseSchema>
  /** Entries sorted by id, each made when it is taken. `service`: namespace/name, or namespace/; empty: all. */
  entries(service: string): Iterable<MessageInitShape<typeof EntrySchema>>
  /** What was forwarded, sorted by Service; a Service without counters has no numbers. `service`: as above. */
  traffic(service: string): AsyncIterable<MessageInitShape<typeof ServiceTrafficSchema>>
  /** A string: what is wrong with the request. */
  explain(request: ExplainRequest): MessageInitShape<typeof ExplainResponseSchema> | string
  /** Documents for a support bundle, each in one part or several, made when they are taken. */
  documents(): AsyncIterable<MessageInitShape<typeof DocumentPartSchema>>
  /** Calls back with the last changes, oldest first, and then with each further one. @returns stops it */
  watchChanges(onChange: (change: MessageInitShape<typeof ChangeSchema>) => void): () => void
}
