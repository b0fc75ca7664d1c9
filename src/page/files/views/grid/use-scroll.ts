import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Where the grid is scrolled to, once for each frame, and the height that its rows have; pixels. */
export function useScroll(grid: { readonly current: HTMLElement | null }, headHeight: number) {
  const [scroll, setScroll] = useState({ scrollTop: 0, height: 600 })
  const measure = useRef((): void => undefined)
  useLayoutEffect(() => {
    measure.current = () => {
      const { current } = grid
      if (current === null) return
      const next = { scrollTop: current.scrollTop, height: current.clientHeight - headHeight }
      setScroll((old) =>
        old.scrollTop === next.scrollTop && old.height === next.height ? old : next,
      )
    }
    measure.current()
  }, [])
  useEffect(() => {
    const { current } = grid
    if (current === null) return undefined
    let frame = 0
    const schedule = (): void => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => measure.current())
    }
    current.addEventListener('scroll', schedule, { passive: true })
    const sizes = new ResizeObserver(schedule)
    sizes.observe(current)
    return () => {
      cancelAnimationFrame(frame)
      current.removeEventListener('scroll', schedule)
      sizes.disconnect()
    }
  }, [])
  return scroll
}
