import struct
def deadline(name, raw, memory, clock):
    def ts(a):
        s,n=struct.unpack('=qq',memory.read(a,16)); return s*10**9+n
    if name=='nanosleep': return clock.monotonic_ns+ts(raw[0])
    if name=='clock_nanosleep': return ts(raw[2]) if raw[1]&1 else clock.monotonic_ns+ts(raw[2])
    if name=='futex':
        if not raw[3] or raw[1]&0x7f not in (0,9): return None
        t=ts(raw[3])
        if raw[1]&0x7f==0: return clock.monotonic_ns+t
        return t if not raw[1]&256 else t-clock._base
    if name in('poll','epoll_wait','epoll_pwait'):
        ms=raw[{'poll':2}.get(name,3)]&0xffffffff
        return None if ms>=2**31 else clock.monotonic_ns+ms*10**6
    if name in ('select','pselect6','ppoll','epoll_pwait2'):
        a=raw[{'ppoll':2,'epoll_pwait2':3}.get(name,4)]
        if not a: return None
        s,n=struct.unpack('=qq',memory.read(a,16)); return clock.monotonic_ns+s*10**9+(n*1000 if name=='select' else n)
    return None
