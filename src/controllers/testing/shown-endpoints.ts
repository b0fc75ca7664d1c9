import { arrayAt, type JsonObject, scalarText, stringAt } from '../../lib/json.ts'

type Shows = (items: readonly JsonObject[]) => boolean

/** An Endpoints object with just these addresses, ready and not, each joined by commas. */
export function endpoints(ready: string, waiting = ''): Shows {
  return (items) =>
    items.some((one) => {
      const [subset] = arrayAt(one, 'subsets')
      const list = (name: string): string =>
        arrayAt(subset, name)
          .map((address) => stringAt(address, 'ip'))
          .join()
      return list('addresses') === ready && list('notReadyAddresses') === waiting
    })
}

/** Slices that hold just these addresses. */
export function sliced(...addresses: readonly string[]): Shows {
  return (items) => {
    const found = items.flatMap((slice) =>
      arrayAt(slice, 'endpoints').flatMap((one) => arrayAt(one, 'addresses')),
    )
    return JSON.stringify(found.map(scalarText).toSorted()) === JSON.stringify(addresses)
  }
}
