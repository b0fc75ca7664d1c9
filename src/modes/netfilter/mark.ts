import type { NetfilterSettings } from './settings.ts'

type MarkSettings = Pick<NetfilterSettings, 'masqueradeBit'>

function bit(settings: MarkSettings): string {
  return `0x${((1 << settings.masqueradeBit) >>> 0).toString(16)}`
}

/** Target: this packet is to be masqueraded on its way out. */
export function setMark(settings: MarkSettings): string {
  return `-j MARK --set-xmark ${bit(settings)}/${bit(settings)}`
}

export function isMarked(settings: MarkSettings): string {
  return `-m mark --mark ${bit(settings)}/${bit(settings)} `
}

export function isNotMarked(settings: MarkSettings): string {
  return `-m mark ! --mark ${bit(settings)}/${bit(settings)} `
}

/** Target: clears the mark, so that an encapsulated copy is not masqueraded again. */
export function clearMark(settings: MarkSettings): string {
  return `-j MARK --set-xmark ${bit(settings)}/0x0`
}
