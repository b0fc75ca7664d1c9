/** Smaller ranges have no band, larger ones at least this much of one. */
const MIN_SIZE = 16

/** How much of a range is kept for clients that name an address or port. */
export interface BandLimits {
  readonly step: number
  readonly most: number
}

/** KEP-3070. */
export const ADDRESS_BAND: BandLimits = { step: 16, most: 256 }

/** KEP-3668. */
export const PORT_BAND: BandLimits = { step: 32, most: 128 }

/**
 * The lower part of a range that is handed out by itself only when the rest is
 * full, so that an address or port that a client names is likely to be free.
 */
export function staticBand(size: number, { step, most }: BandLimits): number {
  return size < MIN_SIZE ? 0 : Math.min(Math.max(MIN_SIZE, Math.floor(size / step)), most)
}
