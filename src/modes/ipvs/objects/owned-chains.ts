import type { OwnedChains } from '../../netfilter/chains/keeper-options.ts'
import { PREFIX } from './names.ts'

/** mangle decides which packets come here, so it is written last. */
export const OWNED_CHAINS: OwnedChains = { prefix: PREFIX, tables: ['nat', 'filter', 'mangle'] }
