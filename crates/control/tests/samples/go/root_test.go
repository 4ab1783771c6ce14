package root

import (
	"os"
	"testing"
)

func TestArea(t *testing.T) {
	t.Run("of a square", func(t *testing.T) {
		if Area(2, 2) != 4 {
			t.Fatal("no")
		}
	})
	got := Area(2, 3)
	if got != 6 {
		t.Errorf("got %d", got)
	}
}

func TestEmpty(t *testing.T) {}

func TestBlank(_ *testing.T) { _ = Area(1, 1) }

func TestUnnamed(*testing.T) { _ = Area(1, 1) }

func TestReturn(tt *testing.T) {
	want := "ab"
	if got := "a" + "b"; got != want {
		tt.Fatalf("got %s, want %s", got, want)
	}
	return
}

func TestParallel(t *testing.T) {
	t.Parallel()
	for _, side := range []int{1, 2} {
		t.Run("side", func(t *testing.T) { t.Parallel(); _ = side })
	}
}

func TestPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	panic(Area(1, 1))
}

func TestEarlyWayOut(t *testing.T) {
	if Area(1, 1) == 1 {
		return
	}
	t.Log("never here")
}

func TestSkips(t *testing.T) { t.Skip("not here") }

func TestMain(m *testing.M) { os.Exit(m.Run()) }

func TestStaysGreen(t *testing.T) { _ = Area(1, 1) }

func Example() {}
