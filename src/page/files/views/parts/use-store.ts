import { useEffect, useState } from 'preact/hooks'
import type { Store } from '../../data/store.ts'

/** The value of a store; the component is rendered again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, render] = useState(0)
  const { value } = store
  useEffect(() => {
    const again = (): void => render((count) => count + 1)
    if (!Object.is(store.value, value)) again()
    return store.subscribe(again)
  }, [store])
  return value
}
