import type { Options } from '../options.ts'
import { hasIpvs, measureHere } from './here.ts'
import { hasUserModeLinux, measureInUml } from './in-uml.ts'
import { IpvsStore } from './store.ts'

/** Where the ipvs mode can be measured. */
export type IpvsPlace = 'here' | 'uml'

/** Finds the place; undefined: ipvs mode cannot be measured on this machine. */
export async function findIpvsPlace(): Promise<IpvsPlace | undefined> {
  if (hasIpvs()) return 'here'
  return (await hasUserModeLinux()) ? 'uml' : undefined
}

export async function runIpvs(place: IpvsPlace, options: Options, folder: string): Promise<void> {
  const store = new IpvsStore(options)
  await (place === 'here' ? measureHere : measureInUml)(options, folder, store)
}
