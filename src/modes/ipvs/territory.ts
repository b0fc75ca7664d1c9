import type { Territory } from '../netfilter/chains/keeper-options.ts'
import { PREFIX } from './names.ts'

/** mangle decides which packets come here, so it is written last. */
export const TERRITORY: Territory = { prefix: PREFIX, tables: ['nat', 'filter', 'mangle'] }
