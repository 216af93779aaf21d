from racecheck.engine.sandbox import EPOCH
class Clock:
    def __init__(self):
        self.version=0; self.monotonic_ns=1000*10**9; self._base=EPOCH*10**9-self.monotonic_ns
    def realtime_ns(self, program): return self._base+self.monotonic_ns
    def advance_to(self, ns):
        if ns>self.monotonic_ns: self.monotonic_ns=ns; self.version+=1
    def show(self, vdso, memory, program): vdso.set_clock(memory,self.realtime_ns(program),self.monotonic_ns)
